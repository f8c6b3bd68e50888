for (let i = 0; i < 50; i++) frame(`data:text/html,<script>fetch('INSIDE')<\/script>frame`)
