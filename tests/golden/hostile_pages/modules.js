import('INSIDE').catch(() => {}); import('data:text/javascript,while(true){}').catch(() => {})
