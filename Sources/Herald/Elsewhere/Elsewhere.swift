// The module `Herald` where there is no hub. A package that depends on Herald is resolved and built there, and what uses the hub
// does not compile, with this reason. The manifest chooses by the machine that builds: a Mac that compiles for Linux gets this
// module as well.
//
// It was compiled on Linux only (HeraldAPITests), not on the platforms that it is for.

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum CallbackFailure {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum ContentFilter {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum CurrentAppState {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum DeliveryError {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum DeliveryState {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum Event {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum EventBatch {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public protocol EventDelegate {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum EventPattern {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum EventPoint {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum EventPosition {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum EventSelection {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum EventState {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum EventUser {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum FieldError {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum FlowStatus {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum Hub {
    public static func open(folder: String, options: Any = (), onDurabilityLost: Any = ()) async throws {}
}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum HubError {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum HubMetrics {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum HubRegistration {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum KeyValue {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum ListCursor {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum ListPage {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum LogEntry {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum LoginStatus {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum NewEvent {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum PositionedEvent {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum PublishedEvent {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum PulledRun {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum Recipe {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum ScheduledEvent {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum SigningSecret {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum StoreError {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum TLSSettings {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum Webhook {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum WebhookSettings {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum WebhookStatus {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public enum Webhooks {}

@available(*, unavailable, message: "Herald runs on Linux. Put what uses it into \"#if os(Linux)\".")
public func withHub(
    folder: String, options: Any = (), grace: Duration = .zero, _ body: (Never) async throws -> Void
) async throws {}
