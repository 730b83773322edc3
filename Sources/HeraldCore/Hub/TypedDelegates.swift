public import Delegation
import HeraldJSON
public import HeraldModel

/// A user in an event of the family `auth`. An `AuthEvents` compares users by their ids.
public struct EventUser: Identifiable, Sendable {
    /// The id of the user in the app.
    public let id: String
    /// The JSON object `user` of the event's data, as posted; `nil` if there was none.
    public let data: [UInt8]?
    /// The event itself.
    public let event: Event
}

/// An app state in an event of the family `app_state`.
public struct EventState: Equatable, Sendable {
    /// A JSON value in UTF-8.
    public let json: [UInt8]
    package init(json: [UInt8]) { self.json = json }
    /// `null`: the state before the first event.
    public static let none = EventState(json: Array("null".utf8))
}

/// The registration of a typed delegate with a hub. It ends when this object is released. The delegate itself is held
/// weakly.
public final class HubRegistration: Sendable {
    private let adapter: any TypedAdapter
    fileprivate init(_ adapter: any TypedAdapter) { self.adapter = adapter }

    /// A call in progress keeps the adapter alive. Its delegate can be added again at once.
    deinit { adapter.hub?.removeDelegate(adapter) }
}

extension Hub: DelegateSender {}

extension Hub {
    /// Notifies a delegate of logins and logouts from now on, once they are on disk: on the writer's thread, in the
    /// order of the log.
    ///
    /// - Parameters:
    ///   - description: its purpose; shown in the list of delegates.
    ///   - selection: which events, with the same conditions as a webhook.
    ///   - decode: creates the delegate's user from the event. A login whose user is `nil` is skipped; at a logout or a
    ///     change of status the delegate gets no user then.
    /// - Returns: the registration, to be kept as long as the delegate is to be called; `nil` if the delegate is
    ///   already registered with this hub.
    public func addDelegate<User: Sendable>(
        _ delegate: any AuthEventsDelegate<User> & Sendable, description: String,
        selection: EventSelection = EventSelection(),
        decode: @escaping @Sendable (EventUser) -> User?
    ) -> HubRegistration? {
        add(AuthAdapter(delegate, of: self, selection, decode), description)
    }

    /// Notifies a delegate whose user type is ``EventUser``.
    public func addDelegate(
        _ delegate: any AuthEventsDelegate<EventUser> & Sendable, description: String,
        selection: EventSelection = EventSelection()
    ) -> HubRegistration? {
        addDelegate(delegate, description: description, selection: selection) { $0 }
    }

    /// Notifies a delegate of changes of the app state from now on, once they are on disk: on the writer's thread, in
    /// the order of the log.
    ///
    /// - Parameters:
    ///   - description: its purpose; shown in the list of delegates.
    ///   - selection: which events, with the same conditions as a webhook.
    ///   - initial: the state until the first one that can be decoded.
    ///   - decode: creates the delegate's state from a JSON value. A change to `nil` is skipped.
    /// - Returns: the registration, to be kept as long as the delegate is to be called; `nil` if the delegate is
    ///   already registered with this hub.
    public func addDelegate<State: Sendable>(
        _ delegate: any StateDelegate<State> & Sendable, description: String,
        selection: EventSelection = EventSelection(),
        initial: State, decode: @escaping @Sendable (EventState) -> State?
    ) -> HubRegistration? {
        add(StateAdapter(delegate, of: self, selection, initial, decode), description)
    }

    /// Notifies a delegate whose state type is ``EventState``.
    public func addDelegate(
        _ delegate: any StateDelegate<EventState> & Sendable, description: String,
        selection: EventSelection = EventSelection()
    ) -> HubRegistration? {
        addDelegate(delegate, description: description, selection: selection, initial: .none) { $0 }
    }

    /// An object that has both families can be added for each of them.
    private func add<Adapter: TypedAdapter>(_ adapter: Adapter, _ description: String) -> HubRegistration? {
        let target = adapter.target
        func registered() -> Adapter? {
            inMemoryDelegates.compactMap { $0.delegate as? Adapter }.first { $0.target === target }
        }
        if registered() != nil { return nil }
        addDelegate(adapter, description: description)
        // Of several threads that add the object at the same time, the first one in the list has added it.
        if let first = registered(), first !== adapter {
            removeDelegate(adapter)
            return nil
        }
        return HubRegistration(adapter)
    }
}

/// Converts events for a typed delegate. Held weakly by the hub, strongly by the registration.
private protocol TypedAdapter: EventDelegate {
    /// The delegate; `nil` if it was released.
    var target: AnyObject? { get }
    var hub: Hub? { get }
}

private final class AuthAdapter<User: Sendable>: TypedAdapter {
    private weak let delegate: (any AuthEventsDelegate<User> & Sendable)?
    weak let hub: Hub?
    private let selection: EventSelection
    private let decode: @Sendable (EventUser) -> User?

    init(
        _ delegate: any AuthEventsDelegate<User> & Sendable, of hub: Hub, _ selection: EventSelection,
        _ decode: @escaping @Sendable (EventUser) -> User?
    ) {
        self.delegate = delegate
        self.hub = hub
        self.selection = selection
        self.decode = decode
    }

    var target: AnyObject? { delegate }

    func published(_ batch: EventBatch) {
        guard let delegate, let hub else { return }
        for event in batch.events where event.family == .auth {
            let view = EventView(event)
            var errors: [FieldError] = []
            guard selection.matches(view),
                let change = AuthFamily.read(event.type, subject: event.subject, data: view.data, &errors)
            else { continue }
            let user = decode(EventUser(id: change.userID, data: change.user, event: event))
            switch event.type {
            case AuthFamily.loggedIn: if let user { delegate.userIsLoggedIn(user: user, sender: hub) }
            case AuthFamily.loggedOut: delegate.userIsLoggedOut(user: user, sender: hub)
            default: delegate.userAuthStatusChanged(user: user, isLoggedIn: change.isLoggedIn, sender: hub)
            }
        }
    }
}

private final class StateAdapter<State: Sendable>: TypedAdapter {
    private weak let delegate: (any StateDelegate<State> & Sendable)?
    weak let hub: Hub?
    private let selection: EventSelection
    private let initial: State
    private let decode: @Sendable (EventState) -> State?

    init(
        _ delegate: any StateDelegate<State> & Sendable, of hub: Hub, _ selection: EventSelection, _ initial: State,
        _ decode: @escaping @Sendable (EventState) -> State?
    ) {
        self.delegate = delegate
        self.hub = hub
        self.selection = selection
        self.initial = initial
        self.decode = decode
    }

    var target: AnyObject? { delegate }

    func published(_ batch: EventBatch) {
        guard let delegate, let hub else { return }
        for event in batch.events where event.type == AppStateFamily.changed {
            let view = EventView(event)
            guard selection.matches(view), let state = view.data?["state"],
                let new = decode(EventState(json: state.bytes))
            else { continue }
            let old = view.data?["previous"].flatMap { decode(EventState(json: $0.bytes)) }
            delegate.stateDidChange(from: old ?? initial, to: new, sender: hub)
        }
    }
}
