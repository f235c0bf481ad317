import AppStore
import EndToEndTesting
import Postgres
import Randomness
import StoreSimulator
import StoreSimulatorServer
import Testing

extension HistoryProof {
    /// Random fates of notifications, and workers that are killed anywhere: `HISTORY_EVENTS=20000 swift test --filter HistoryProofTests`.
    @Suite struct RandomFatesTests {
        @Test func `after a walk under kill -9 the inbox has all that Apple lists, each once, and the ledger is that of pushes alone`()
            async throws
        {
            let settings = ProofSettings()
            print(settings.rerunCommand)
            var generator = SeededGenerator(seed: settings.seed)
            var fates: RandomFates?
            let shop = try Shop(bundleID: AppleScene.place.bundleID, environment: .production, seed: settings.seed)
            try await AppleScene.with(
                seed: settings.seed,
                sabotage: settings.sabotage,
                change: { api in
                    api.options.pageSize = settings.events < 2000 ? 3 : 20
                    fates = try RandomFates(settings.events, in: &api, of: shop, using: &generator)
                },
                { scene in
                    let fates = try #require(fates)
                    let expected = try await Self.digestOfPushes(fates.listed, of: shop)
                    var run = KillRun(scene: scene, generator: generator, kills: settings.kills)
                    try await run.start(fates.delivered)
                    try await run.untilRead("day")
                    // What Apple lists late is found by second walks and by overlaps.
                    scene.store.access { api in for signed in fates.late { api.push(signed, fate: .givenUp) } }
                    try await scene.sql.execute(
                        """
                        UPDATE appstore.history_cursors SET second_until = second_until - interval '5 days',
                            near_until = near_until - interval '3 days'
                        """
                    )
                    try await run.untilRead("second")
                    let suspected = try await run.requeueSuspected()
                    #expect(3 * suspected <= run.killed, "\(settings.rerunCommand)")
                    print("history: \(run.summary(of: fates))")
                    #expect(run.killed >= min(settings.kills, 3), "too few workers were killed: the run has tested little")
                    try await Self.expectEachOnce(scene, settings.rerunCommand)
                    #expect(difference(expected.ledger, try await scene.sql.digest()) == [], "\(settings.rerunCommand)")
                    #expect(try await scene.sql.stateDigests() == expected.digests, "\(settings.rerunCommand)")
                }
            )
        }

        /// The ledger after the same notifications, pushed once each, without history and without faults.
        private static func digestOfPushes(_ bodies: [[UInt8]], of shop: Shop) async throws -> (digests: [String], ledger: [String]) {
            var result: (digests: [String], ledger: [String]) = ([], [])
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                _ = try await installation.startWorker(for: shop)
                for answer in try await ingest.client.post(bodies) { #expect(answer.status == 200) }
                try await installation.sql.settled(bodies.count, within: .seconds(600))
                result = (try await installation.sql.stateDigests(), try await installation.sql.digest())
            }
            return result
        }

        private static func expectEachOnce(_ scene: AppleScene, _ rerun: String) async throws {
            let seen = try await scene.lines("SELECT notification_uuid::text FROM appstore.seen_notifications")
            #expect(Set(seen) == scene.listed() && seen.count == Set(seen).count, "\(rerun)")
            let repeated = try await scene.lines(
                """
                SELECT concat_ws(' ', notification_uuid, count(*) FILTER (WHERE source = 'history_v2'),
                                 count(*) FILTER (WHERE result <> 'duplicate'))
                FROM appstore.outcomes GROUP BY notification_uuid
                HAVING count(*) FILTER (WHERE source = 'history_v2') > 1 OR count(*) FILTER (WHERE result <> 'duplicate') <> 1
                """
            )
            #expect(repeated == [], "read more than once, or counted not once. \(rerun)")
            let unsettled = try await scene.lines(
                """
                SELECT concat_ws(' ', event_id, result, reason, last_error) FROM appstore.outcomes
                WHERE result IN ('rejected', 'failed', 'discarded', 'unhandled')
                """
            )
            #expect(unsettled == [], "\(rerun)")
            let records = try await scene.lines(
                "SELECT notification_uuid::text FROM appstore.history_records WHERE class <> 'refused_here'"
            )
            #expect(Set(records) == scene.listed(), "\(rerun)")
            let coverage = try await scene.lines(
                """
                SELECT concat_ws(' ', open_windows, age < interval '30 minutes', covered_to - covered_from > interval '29 days', unlisted)
                FROM appstore.history_coverage
                """
            )
            #expect(coverage == ["0 t t 0"], "\(rerun)")
        }
    }
}
