"""criteria"""
