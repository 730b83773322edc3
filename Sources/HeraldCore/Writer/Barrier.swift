import HeraldModel

/// Completes when everything that was submitted before is committed and completed, or was refused.
struct Barrier: StoreCommand {
    /// Called once, on the writer's thread, or at once after its end; must not wait.
    let reached: @Sendable () -> Void

    func perform(_ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan) {
        plan.answers.append { [self, intake = context.intake] in
            // Steps that were submitted before wait in a queue of their own.
            guard intake.hasSteps else { return reached() }
            if intake.submit(self) != nil { reached() }
        }
    }

    func refuse(_ refusal: HubError) { reached() }
}
