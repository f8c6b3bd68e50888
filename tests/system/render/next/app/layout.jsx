export const metadata = { title: "next" };

export default function Layout({ children }) {
  return <html lang="en"><body>{children}</body></html>;
}
