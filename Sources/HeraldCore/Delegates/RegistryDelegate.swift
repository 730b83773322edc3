/// Who is told that webhooks were registered, changed or removed.
///
/// Called on the store writer's thread, when the change is durable and the registry has it. It must return soon and never
/// wait.
package protocol RegistryDelegate: AnyObject, Sendable {
    func registryChanged(_ change: Registry.Change)
}
