for (let i = 0; i < 30; i++) {
  const peer = new RTCPeerConnection({iceServers: [{urls: 'INSIDE'.replace('http://', 'stun:').slice(0, -1)}]});
  peer.createDataChannel('x');
  peer.createOffer().then((offer) => peer.setLocalDescription(offer));
}
