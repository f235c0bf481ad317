import EndToEndTesting
import Testing

extension EndToEndInterfaces {
    /// `reconcile`, as an operator uses it.
    @Suite struct ReconcileCommandTests {
        @Test func `the rules are shown, and a customer is asked about`() async throws {
            try await Installation.lend { installation in
                let lines = try await installation.run(["reconcile", "status"]).output.split(separator: "\n")
                #expect(lines.count == 8 && lines[0].hasPrefix("RULE") && lines[1].hasPrefix("expired_silent "), "\(lines)")
                let unknown = try await installation.run(["reconcile", "ask", "7001"])
                #expect(
                    unknown.ending == .exit(1) && unknown.errors.contains("the ledger has no purchase with the id '7001'"),
                    "\(unknown.errors)"
                )
                let asked = try await installation.run([
                    "reconcile", "ask", "7001", "--app", "com.example.app", "--environment", "Sandbox", "--json",
                ])
                #expect(asked.output.hasPrefix("{\"callId\":"), "\(asked.errors)")
                let status = try await installation.run(["reconcile", "status", "--json"]).output.split(separator: "\n")
                #expect(status.last?.hasPrefix(#"{"rule":"operator","watched":0,"open":1,"questions":1,"#) == true, "\(status)")
                for wrong in [["reconcile", "ask"], ["reconcile", "ask", "7001", "--environment", "x"]] {
                    #expect(try await installation.run(wrong).ending == .exit(2), "\(wrong)")
                }
            }
        }
    }
}
