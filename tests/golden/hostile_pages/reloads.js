onload = () => location.reload()
