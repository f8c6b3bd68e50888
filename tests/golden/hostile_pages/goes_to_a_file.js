location.href = 'file:///etc/passwd'
