#if canImport(SwiftUI)
    import Delegation
    import SwiftUI

    /// Drawn again whenever the state changes, on whatever thread.
    public struct DownloadView: View {
        let download: Download

        public init(_ download: Download) { self.download = download }

        public var body: some View {
            VStack {
                Text(download.progress.tracked.description)
                Button("Download") { download.start() }
                History(download)
            }
        }
    }

    /// Follows the state step by step.
    struct History: View {
        let download: Download
        @State private var steps: [Progress] = []

        init(_ download: Download) { self.download = download }

        var body: some View {
            Text("\(steps.count) steps")
                .task { for await step in download.progress.values(buffering: .unbounded) { steps.append(step) } }
        }
    }

    /// The state of a download.
    public nonisolated enum Progress: Equatable, Sendable, CustomStringConvertible {
        case waiting
        case running(percent: Int)
        case done

        public var description: String {
            switch self {
            case .waiting: "Waiting"
            case .running(let percent): "\(percent) %"
            case .done: "Done"
            }
        }
    }

    /// A model that isn't on the main actor.
    public nonisolated final class Download: Sendable {
        public let progress = ObservedState(Progress.waiting, removingDuplicates: true)

        public init() {}

        public func start() {
            Task {
                for percent in stride(from: 0, to: 100, by: 10) { progress.value = .running(percent: percent) }
                progress.value = .done
            }
        }
    }
#endif
