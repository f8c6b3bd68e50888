import {useEffect, useState} from "react";
import {createRoot} from "react-dom/client";

function Page() {
  const [items, setItems] = useState(null);
  useEffect(() => { fetch("/items.json").then((answer) => answer.json()).then(setItems) }, []);
  if (!items) return <p>Loading</p>;
  return <main><h1>The framework's heading</h1>{items.map((item) => <p key={item}>{item}</p>)}<a href="/next">next</a></main>;
}
createRoot(document.getElementById("root")).render(<Page />);
