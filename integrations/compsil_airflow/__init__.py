"""compsil-kit for Airflow. Not there yet: ``SelectKOperator`` comes with a later release."""
