location.href = 'chrome://crash/'
