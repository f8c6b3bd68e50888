history.pushState({}, '', '/a'); onpopstate = () => history.forward(); history.back()
