import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import StoreSimulatorServer
import Testing

extension HistoryProof {
    /// Four worker processes share one budget. The store's hour lasts ten seconds.
    @Suite struct BudgetTests {
        private static let hour: Int64 = 10
        private static let allowance = 50 * Int(hour)

        @Test func `four workers stay below the hourly limit, and give way to another client; an answer about consumption takes no minute`()
            async throws
        {
            let change: (inout SimulatedServerAPI) -> Void = { api in
                api.options.pageSize = 1
                api.limits.hour = .seconds(Self.hour)
                api.limits.allowances[.notificationHistory] = Self.allowance
                api.limits.allowances[.subscriptionStatuses] = Self.allowance
            }
            try await AppleScene.with(change: change) { scene in
                try Self.fill(scene, 1500)
                try await Self.importCustomers(scene, 20_000)
                for _ in 0..<4 { _ = try await scene.startWorker() }
                try await eventually("two hours are over", within: .seconds(60)) { Self.uses(scene).count >= 3 }
                let alone = Self.uses(scene)
                #expect(alone.allSatisfy { $0.refused == 0 && $0.granted <= Self.allowance }, "\(alone)")
                #expect(alone.contains { $0.granted > Self.allowance / 4 }, "the workers asked too little to test anything: \(alone)")

                // The other client begins with an hour, so that what was used before it counts for no hour of both.
                let began = Self.uses(scene).count
                scene.store.access { $0.limits.shareOfOthers = 0.5 }
                let answered = try await Self.answerConsumption(scene)
                #expect(answered < .seconds(60))
                let imported = scene.store.access { $0.limits.uses(of: .subscriptionStatuses, at: AppleScene.place) }
                #expect(
                    imported.allSatisfy { $0.granted <= Self.allowance } && imported.contains { $0.granted > Self.allowance / 10 },
                    "\(imported)"
                )
                let isRunning = "SELECT state = 'running' AND remaining > 0 FROM appstore.import_status" as Statement
                #expect(try await scene.sql.value(Bool.self, isRunning), "the import was over before the answer was sent")
                try await eventually("the history is read", within: .seconds(240)) { try await scene.isRead() }
                let shared = Self.uses(scene).dropFirst(began)
                print("budget: alone \(alone.map(\.granted)), beside another client \(shared.map { "\($0.granted)+\($0.refused)" })")
                #expect(shared.dropLast().allSatisfy { $0.granted <= Self.allowance / 2 }, "\(shared)")
                // Requests in flight are refused together; then all workers wait, and ask for less.
                #expect(shared.allSatisfy { $0.refused <= 4 * 8 }, "\(shared)")
                #expect(shared.filter { $0.refused > 0 }.count <= 3, "\(shared)")
                Self.expectRestAfterRefusals(scene)
                // The last attempt of some was made within the minute before they were listed.
                let stored: Statement = "SELECT count(*)::text FROM appstore.history_records WHERE class IN ('recovered', 'in_flight')"
                #expect(try await scene.lines(stored) == ["1500"])
            }
        }

        private static func uses(_ scene: AppleScene) -> [ServerAPILimits.Use] {
            scene.store.access { $0.limits.uses(of: .notificationHistory, at: AppleScene.place) }
        }

        /// No worker asks between two seconds after a refusal and the end of that hour.
        private static func expectRestAfterRefusals(_ scene: AppleScene) {
            let calls = scene.store.calls.filter { $0.endpoint == .notificationHistory }
            let length = hour * 1000
            for refused in calls where refused.status == 429 {
                let (at, end) = (refused.at.millisecondsSince1970, (refused.at.millisecondsSince1970 / length + 1) * length)
                let early = calls.filter { $0.at.millisecondsSince1970 > at + 2000 && $0.at.millisecondsSince1970 < end }
                #expect(early.isEmpty, "\(early.count) calls between a refusal and the end of its hour")
            }
        }

        /// Purchases of the last weeks, none of which was pushed.
        private static func fill(_ scene: AppleScene, _ count: Int) throws {
            var store = SimulatedStore(app: scene.shop.app, seed: 5, now: AppleScene.now().advanced(by: .seconds(-25 * 86_400)))
            var life = store.makeCustomer()
            let coins = try #require(life.catalogue.oneTimeProducts.first)
            for _ in 0..<count {
                life.advance(by: .seconds(1200))
                let signed = try scene.shop.signer.sign(life.buy(coins))
                scene.store.access { _ = $0.push(signed, fate: .givenUp) }
            }
        }

        /// Begins an import of customers whom Apple does not know, which asks about each for longer than the test lasts.
        private static func importCustomers(_ scene: AppleScene, _ count: Int) async throws {
            let file = scene.installation.folder.appending(path: "customers.csv")
            let lines = ["original_transaction_id"] + (0..<count).map { "\(1_000_000_000_000_000 + $0)" }
            try Data(lines.joined(separator: "\n").utf8).write(to: file)
            let made = try await Program.run(
                ["import", "new", file.path, "--app", scene.shop.app.bundleID],
                settings: ["APPSTORE_INBOX_DATABASE_URL": scene.installation.database.url(user: "appstore_operator")]
            )
            #expect(made.ending == .exit(0), "\(made.errors)")
        }

        /// Lets Apple ask while the history is read, and returns how long the answer took from its decision on.
        private static func answerConsumption(_ scene: AppleScene) async throws -> Duration {
            try await scene.expectDecisions()
            let ingest = try await scene.installation.startIngest()
            var store = SimulatedStore(app: scene.shop.app, seed: 9, now: AppleScene.now().advanced(by: .seconds(-2 * 3600)))
            let (id, bodies) = try scene.requestConsumption(&store)
            for answer in try await ingest.client.post(bodies) { #expect(answer.status == 200) }
            try await scene.decide([id])
            let start = ContinuousClock.now
            try await scene.expectAnswered([id])
            #expect(try await !scene.isRead(), "the history was read before the answer was sent")
            return .now - start
        }
    }
}
