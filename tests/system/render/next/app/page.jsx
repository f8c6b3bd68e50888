"use client";

import Link from "next/link";
import { useEffect, useState } from "react";

export default function Page() {
  const [items, setItems] = useState([]);
  useEffect(() => {
    fetch("/items.json").then((reply) => reply.json()).then(setItems);
  }, []);
  return <main><h1>{"The framework's heading"}</h1><ul>{items.map((item) => <li key={item}>{item}</li>)}</ul><Link href="/next">More</Link></main>;
}
