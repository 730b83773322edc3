/// Completes when everything that was submitted before is committed and completed, or was refused.
struct Barrier: StoreCommand {
    /// Called once, on the writer's thread, or at once after its end; must not wait.
    let reached: @Sendable () -> Void

    static var admission: CommandAdmission { .always }

    func perform(_ writer: LogWriter, _ transaction: any StoreTransaction, _ plan: inout LogWriter.Plan) {
        plan.answers.append { [self, intake = writer.intake] in
            // Steps that were submitted before wait in a queue of their own.
            guard intake.hasSteps else { return reached() }
            if intake.submit(self) != nil { reached() }
        }
    }

    func refuse(_ refusal: WriteRefusal) { reached() }
}
