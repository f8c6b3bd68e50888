for (let i = 0; i < 50; i++) Object.assign(link('data:application/zip,x'), {download: 'x' + i}).click();
