import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import StoreSimulatorServer
import Testing

extension EndToEndInterfaces {
    /// `apple`, with a worker that asks a simulated App Store over TLS, and without one.
    @Suite struct AppleCommandTests {
        private func apple(
            _ arguments: [String],
            in installation: Installation,
            as role: String = "appstore_operator"
        ) async throws -> Program.Result {
            try await Program.run(
                ["apple"] + arguments,
                settings: ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: role)]
            )
        }

        @Test func `an operator asks Apple, and what Apple signed is in the ledger`() async throws {
            try await Installation.lend { installation in
                try await AppleStore.with(installation) { store in
                    let worker = try await installation.startWorker(store.settings)
                    let id = store.originalTransactionID
                    let charges = store.life.subscription?.transactions.count ?? 0
                    let history = try await apple(["ask", "history", id, "--app", AppleStore.bundleID, "--json"], in: installation)
                    #expect(history.ending == .exit(0), "\(history)")
                    let call = try history.json()
                    #expect(
                        call.text("state") == "answered" && call.document("answer")?.number("pages") == "\(charges)",
                        "\(history.output)"
                    )
                    #expect(call.documents("events").compactMap { $0.text("result") } == Array(repeating: "applied", count: charges))
                    #expect(try await installation.sql.values("SELECT count(*)::text FROM appstore.transactions") == ["\(charges)"])

                    let order = try await apple(["ask", "order", store.order], in: installation)
                    #expect(order.ending == .exit(0) && order.output.contains("status: 0"), "\(order)")
                    #expect(order.output.contains(store.life.subscription?.transactions.last?.transactionID ?? "-"), "\(order)")
                    let invalid = try await apple(["ask", "order", "MZZZ"], in: installation)
                    #expect(invalid.ending == .exit(0) && invalid.output.contains("status: 1"), "\(invalid)")
                    let unknown = try await apple(["ask", "transaction", "1"], in: installation)
                    #expect(unknown.ending == .exit(1) && unknown.output.contains("4040010 TransactionIdNotFound"), "\(unknown)")
                    for what in ["transaction", "statuses", "refunds", "app-transaction"] {
                        let answer = try await apple(["ask", what, id], in: installation)
                        #expect(answer.ending == .exit(0) && answer.output.contains("answered"), "\(answer)")
                    }

                    for _ in 1...2 {
                        let extended = try await apple(["extend", id, "--days", "7", "--reason", "outage", "--json"], in: installation)
                        #expect(extended.ending == .exit(0), "\(extended)")
                        #expect(try extended.json().document("answer")?.flag("success") == true, "\(extended)")
                    }
                    #expect(store.server.calls.count { $0.endpoint == .extendRenewal } == 1)
                    let token = UUID().uuidString.lowercased()
                    let set = try await apple(["set-token", id, token], in: installation)
                    #expect(set.ending == .exit(0), "\(set)")
                    let product = store.life.subscription?.current.product.id ?? ""
                    let all = try await apple(
                        ["extend-all", product, "--days", "3", "--reason", "other", "--request", "r-1", "--yes"],
                        in: installation
                    )
                    #expect(all.ending == .exit(0) && all.output.contains("requestIdentifier: r-1"), "\(all)")
                    let status = try await apple(["extend-status", product, "r-1"], in: installation)
                    #expect(status.ending == .exit(0) && status.output.contains("complete: true"), "\(status)")
                    let test = try await apple(["ask", "test-notification"], in: installation)
                    #expect(test.ending == .exit(1) && test.output.contains("set the URL for notifications"), "\(test)")
                    #expect(try await worker.terminate() == .exit(0))
                    #expect(!worker.log.contains("eyJ") && !worker.log.contains(token))
                }
            }
        }

        @Test func `an operator asks about groups of seats, page by page`() async throws {
            try await Installation.lend { installation in
                try await AppleStore.with(installation) { store in
                    let worker = try await installation.startWorker(store.settings)
                    let life = try store.sandboxSubscriber()
                    let (id, place) = (life.subscription?.originalTransactionID ?? "", ServerAPIPlace(AppleStore.bundleID, .sandbox))
                    let members = [life.appTransactionID] + (1...100).map { "\(700_000_000_000_000_000 + $0)" }
                    store.server.access { api in
                        api.hold(SimulatedServerAPI.ConsumerGroup(id: "91", members: members), at: place)
                        api.hold(SimulatedServerAPI.Seats(total: 3, claims: [UUID()]), of: id, at: place)
                    }
                    let app = ["--app", AppleStore.bundleID]
                    let groups = try await apple(["ask", "groups", id] + app, in: installation)
                    #expect(groups.ending == .exit(0) && groups.output.contains("groupId: 91"), "\(groups)")
                    let first = try await apple(["ask", "group-members", "91", "--json"] + app, in: installation)
                    let page = try first.json().document("answer")
                    #expect(page?.documents("members").count == 100 && page?.flag("hasMore") == true, "\(first)")
                    let token = page?.text("paginationToken") ?? ""
                    let second = try await apple(["ask", "group-members", "91", "--pagination-token", token] + app, in: installation)
                    #expect(second.ending == .exit(0) && second.output.contains(members[100]), "\(second)")
                    #expect(second.output.contains("hasMore: false"), "\(second)")
                    let seats = try await apple(["ask", "seats", id] + app, in: installation)
                    #expect(seats.ending == .exit(0) && seats.output.contains("availableSeatCount: 2"), "\(seats)")
                    let ended = try await apple(["ask", "group-members", "92"] + app, in: installation)
                    #expect(ended.ending == .exit(1) && ended.output.contains("4040022 GroupNotFound: a group ends"), "\(ended)")
                    #expect(try await worker.terminate() == .exit(0))
                }
            }
        }

        @Test func `what is wrong is said: a typo, an id, a role, no worker, no call, no database`() async throws {
            try await Installation.lend { installation in
                let typo = try await apple(["ask", "histroy", "42"], in: installation)
                #expect(typo.ending == .exit(2) && typo.errors.contains("did you mean history?"), "\(typo)")
                for wrong in [
                    ["ask", "order"], ["ask", "test-notification", "42"], ["extend", "42", "--days", "91", "--reason", "other"],
                    ["extend", "42", "--days", "9", "--reason", "because"], ["set-token", "42", "ann"], ["finish", "42"],
                    ["extend-all", "pro", "--days", "9", "--reason", "other"], ["ask", "order", "M1", "--environment", "Xcode"],
                    ["ask", "group-members"], ["ask", "groups", "42", "--pagination-token", "t"],
                ] {
                    let result = try await apple(wrong, in: installation)
                    #expect(result.ending == .exit(2) && result.output.isEmpty, "\(wrong): \(result)")
                }
                let app = try await apple(["ask", "transaction", "42"], in: installation)
                #expect(app.ending == .exit(1) && app.errors.contains("the app must be named"), "\(app)")
                let id = try await apple(["ask", "transaction", "x", "--app", "com.example.tides"], in: installation)
                #expect(id.ending == .exit(1) && id.errors.contains("id must be a transactionId"), "\(id)")
                let open = try await apple(["ask", "transaction", "42", "--app", "com.example.tides", "--wait", "0"], in: installation)
                #expect(open.ending == .exit(3) && open.output.contains("no worker has taken it"), "\(open)")
                let call = try await apple(["call", "1", "--wait", "0", "--json"], in: installation)
                #expect(call.ending == .exit(3))
                #expect(try call.json().text("state") == "open")
                let none = try await apple(["call", "4711"], in: installation)
                #expect(none.ending == .exit(1) && none.errors.contains("there is no call 4711"), "\(none)")
                let viewer = try await apple(["call", "1"], in: installation, as: "appstore_viewer")
                #expect(viewer.ending == .exit(1) && viewer.errors.contains("appstore_operator"), "\(viewer)")
                try await installation.sql.execute("SELECT appstore.plan_history('{com.example.tides}', '{Production}')")
                let other = try await apple(["ask", "transaction", "42", "--app", "com.example.tide"], in: installation)
                #expect(other.ending == .exit(1) && other.errors.contains("workers have keys of com.example.tides"), "\(other)")
            }
            let nowhere = try await Program.run(
                ["apple", "ask", "transaction", "42"],
                settings: ["APPSTORE_INBOX_DATABASE_URL": "host=/nonexistent"]
            )
            #expect(nowhere.ending == .exit(1) && !nowhere.errors.isEmpty, "\(nowhere)")
        }
    }
}
