import EndToEndTesting
import Randomness
import Testing

extension HistoryProof {
    /// A file of customers, and workers that are killed anywhere: a tenth of `HISTORY_EVENTS` is how many customers the file has.
    @Suite struct ImportKillTests {
        @Test func `an import under kill -9 asks nothing twice but what was in flight, and the ledger is that of one that is left alone`()
            async throws
        {
            let settings = ProofSettings()
            print(settings.rerunCommand)
            var generator = SeededGenerator(seed: settings.seed)
            let kills = max(10, min(settings.kills, settings.events / 1000))
            let scene = try ImportedShop(customers: max(60, settings.events / 10))
            try await scene.serve { store, environment in
                let alone = try await ImportRun(of: scene, environment, store)
                let most = max(1, 2 * alone.requests[0].count / (kills + 1))
                let killed = try await ImportRun(of: scene, environment, store, sabotage: settings.sabotage, kills: kills) {
                    Int.random(in: 1...most, using: &generator)
                }
                print(
                    """
                    import: \(scene.customers) customers, \(alone.requests[0].count) requests; \(killed.kills) workers killed, \
                    \(killed.repeatedAfterKills.reduce(0, +)) requests repeated
                    """
                )
                #expect(killed.kills >= min(kills, 5), "too few workers were killed: the run has tested little")
                #expect(alone.problems + killed.problems == [], "\(settings.rerunCommand)")
                #expect(difference(alone.ledger, killed.ledger) == [], "\(settings.rerunCommand)")
                #expect(Set(alone.requests.joined()) == Set(killed.requests.joined()), "\(settings.rerunCommand)")
                #expect(killed.repeatedAfterKills.allSatisfy { $0 <= ImportedShop.inFlight }, "\(killed.repeatedAfterKills)")
            }
        }
    }
}
