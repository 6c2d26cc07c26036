"""GROUP BY, DISTINCT, HAVING and QUALIFY: what binding makes of groups."""
