"""As much of SVG as the plots need."""
from html import escape

INK, FAINT, GOOD, BAD = "#24292f", "#d0d7de", "#1a7f37", "#cf222e"
SERIES = ("#0969da", "#8250df", "#bc4c00")


class Drawing:
    def __init__(self, width, height, title):
        self.width, self.height, self._title, self._parts = width, height, title, []
        self.text(16, 24, title, size=15, weight="bold")

    def line(self, x1, y1, x2, y2, colour=FAINT, width=1, dashes=""):
        self._parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"'
            f' stroke-dasharray="{dashes}"/>')

    def bar(self, x, y, width, height, colour):
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" fill="{colour}"/>')

    def text(self, x, y, text, size=12, anchor="start", colour=INK, weight="normal"):
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}"'
            f' font-weight="{weight}">{escape(text)}</text>')

    def curve(self, points, colour, dashes=""):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dashes}"/>')

    def write(self, path):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
                f'height="{self.height}" font-family="system-ui, sans-serif" role="img">')
        parts = [head, f"<title>{escape(self._title)}</title>",
                 f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>', *self._parts, "</svg>"]
        with open(path, "w") as file:
            file.write("\n".join(parts) + "\n")
