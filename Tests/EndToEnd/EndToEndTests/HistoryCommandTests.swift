import AppStore
import EndToEndTesting
import Foundation
import Postgres
import Testing

extension EndToEndInterfaces {
    /// `history`, as an operator uses it.
    @Suite struct HistoryCommandTests {
        @Test func `the history is shown, read from an earlier day on, and set to another mode`() async throws {
            try await Installation.lend { installation in
                #expect(try await installation.run(["history", "status"]).output == "No worker has read the history of such an app.\n")
                let none = try await installation.run(["history", "mode", "beside"])
                #expect(
                    none.ending == .exit(1) && none.errors.contains("it begins when a worker runs that has the app's key"),
                    "\(none.errors)"
                )
                try await installation.sql.execute("SELECT appstore.plan_history('{com.example.app}', '{Sandbox}')")
                let status = try await installation.run(["history", "status", "--json"]).json()
                #expect(
                    (status.text("bundleId"), status.text("environment"), status.text("mode")) == ("com.example.app", "Sandbox", "walk")
                )
                #expect(status.text("coveredFrom") == nil)
                let text = try await installation.run(["history", "status"]).output
                #expect(text.contains("covered    nothing yet") && text.contains("confirmed 0, recovered 0"), "\(text)")
                let gaps = try await installation.run(["history", "gaps", "--most", "2"]).output.split(separator: "\n")
                #expect(gaps.count == 3 && gaps[0].hasPrefix("APP") && gaps[1].contains("day") && gaps[1].contains("waiting"), "\(gaps)")

                let mode = try await installation.run(["history", "mode", "beside", "--environment", "Sandbox"])
                #expect(mode.output == "com.example.app Sandbox: beside\n", "\(mode.errors)")
                // All of it or nothing: Production has more.
                try await installation.sql.execute("SELECT appstore.plan_history('{com.example.app}', '{Production}')")
                let windows = try await installation.sql.value(Int64.self, "SELECT count(*) FROM appstore.history_windows")
                let since = "\(Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 - 90 * 86_400) * 1000))"
                let tooEarly = try await installation.run(["history", "walk", "--since", since])
                #expect(
                    tooEarly.ending == .exit(1) && tooEarly.errors.contains("Apple lists no notifications of \(since.prefix(10))")
                        && tooEarly.errors.hasSuffix("\nHINT: It lists those of the last 30 days.\n"),
                    "\(tooEarly.errors)"
                )
                #expect(try await installation.sql.value(Int64.self, "SELECT count(*) FROM appstore.history_windows") == windows)
                let other = try await installation.run(["history", "walk", "--since", "2020-01-31T00:00:00Z", "--app", "b"])
                #expect(other.ending == .exit(1), "\(other.errors)")
                for wrong in [
                    ["history", "walk", "--since", "yesterday"], ["history", "mode", "on"], ["history", "status", "--environment", "x"],
                ] {
                    #expect(try await installation.run(wrong).ending == .exit(2), "\(wrong)")
                }
            }
        }
    }
}
