internal import Observation

/// A copy of a state on the main actor, for Observation. It changes there, like all that user interfaces track, so that no
/// change falls between reading the state and tracking it.
@MainActor @Observable
final class TrackedState<State: Sendable> {
    fileprivate(set) var value: State
    @ObservationIgnored fileprivate var token: DelegateToken?

    fileprivate init(_ value: State) { self.value = value }
}

extension StateBoard {
    /// The current state, tracked by Observation: a SwiftUI view whose body reads it is drawn again when it changes, and
    /// so for `withObservationTracking`. A change by another thread appears here when the main actor has time for it.
    @MainActor
    public final var tracked: State {
        if let copy { return copy.value }
        let copy = TrackedState(versioned.value)
        self.copy = copy
        let handler = MainStateHandler<State> { [weak copy] _, new in copy?.value = new }
        copy.token = membership.token(
            of: InternalMember(handler as Delegate), on: MainActor.shared, .latest, first: { self.first })
        return copy.value
    }
}
