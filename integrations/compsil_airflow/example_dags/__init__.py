"""Example DAGs, for Airflow 3. Copy one into your own folder, or point Airflow at this one."""
