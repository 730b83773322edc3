import Delegation

struct Point {
    var x: Int
    var y: Int
}

protocol DrawViewDelegate: AnyObject {
    func drawView(_ source: DrawView, didStartAt point: Point)
    func drawView(_ source: DrawView, didAddPoint point: Point)
    func drawViewDidEnd(_ source: DrawView)
}

/// The drawing area. It notifies its delegates.
class DrawView {
    static let size = 100

    let multicastDelegate = MulticastDelegate<any DrawViewDelegate>()
    private(set) var lines: [[Point]] = []

    func start(at point: Point) {
        lines.append([point])
        multicastDelegate.invokeDelegates { $0.drawView(self, didStartAt: point) }
    }

    func add(_ point: Point) {
        if lines.isEmpty { return start(at: point) }
        lines[lines.count - 1].append(point)
        multicastDelegate.invokeDelegates { $0.drawView(self, didAddPoint: point) }
    }

    func end() { multicastDelegate.invokeDelegates { $0.drawViewDidEnd(self) } }

    /// The lines as SVG.
    func svg(at origin: Point, color: String) -> String {
        lines.map { line in
            let points = line.map { "\(origin.x + $0.x),\(origin.y + $0.y)" }.joined(separator: " ")
            return "  <polyline points=\"\(points)\" fill=\"none\" stroke=\"\(color)\"/>"
        }.joined(separator: "\n")
    }
}

/// Draws what another view draws, mirrored.
final class MirrorView: DrawView, DrawViewDelegate {
    private let mirror: (Point) -> Point

    init(_ mirror: @escaping (Point) -> Point) { self.mirror = mirror }

    func drawView(_ source: DrawView, didStartAt point: Point) { start(at: mirror(point)) }
    func drawView(_ source: DrawView, didAddPoint point: Point) { add(mirror(point)) }
    func drawViewDidEnd(_ source: DrawView) { end() }
}

let size = DrawView.size
let view = DrawView()
let right = MirrorView { Point(x: size - $0.x, y: $0.y) }
let below = MirrorView { Point(x: $0.x, y: size - $0.y) }
let opposite = MirrorView { Point(x: $0.x, y: size - $0.y) }
view.multicastDelegate.addDelegate(right)
view.multicastDelegate.addDelegate(below)
// A mirror can be mirrored.
right.multicastDelegate.addDelegate(opposite)

view.start(at: Point(x: 90, y: 90))
for point in [Point(x: 20, y: 80), Point(x: 60, y: 50), Point(x: 40, y: 10)] { view.add(point) }
view.end()
view.start(at: Point(x: 10, y: 30))
view.add(Point(x: 30, y: 20))
view.end()

print("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(2 * size) \(2 * size)\">")
print(view.svg(at: Point(x: 0, y: 0), color: "black"))
print(right.svg(at: Point(x: size, y: 0), color: "blue"))
print(below.svg(at: Point(x: 0, y: size), color: "green"))
print(opposite.svg(at: Point(x: size, y: size), color: "red"))
print("</svg>")
