for (let i = 0; i < 50; i++) print()
