"""Example DAGs for Airflow 3. Copy one to your DAGs folder, or point Airflow at this folder."""
