"""Example DAGs for Airflow 2.11 and 3. Copy one to your DAGs folder, or point Airflow at this folder."""
