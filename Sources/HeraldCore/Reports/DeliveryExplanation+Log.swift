import HeraldJSON
package import HeraldModel

extension DeliveryExplanation {
    /// For an event of the log, and the webhook's current settings. Any thread.
    /// - Throws: `.budgetExceeded`.
    package init(_ delegate: WebhookDelegate, of logged: LoggedEvent) throws(HubError) {
        let view = EventView(logged.event, within: WorkBudget())
        self.init(delegate, view, at: logged.sequence)
        if view.budget.isSpent { throw .budgetExceeded }
    }
}
