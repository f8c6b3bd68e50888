window.fetchLater && fetchLater('INSIDE', {activateAfter: 0})
