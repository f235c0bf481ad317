import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator

/// One run: senders post, everything breaks, and in the end the judge looks at what is there.
struct ChaosRun {
    let settings: ChaosSettings
    let site: Site
    let diary = Diary()
    let tally = FaultTally()
    private let clock = StoreClock()
    private let pacer: Pacer
    private let signer: NotificationSigner

    private static let senders = 32

    private init(_ settings: ChaosSettings, site: Site, authority: TestAuthority) {
        (self.settings, self.site) = (settings, site)
        pacer = Pacer(events: settings.events, duration: settings.duration, diary: diary, tally: tally)
        signer = NotificationSigner(authority: authority)
    }

    /// Runs from the empty database to the verdict.
    static func report(_ settings: ChaosSettings) async throws -> ChaosReport {
        let authority = try TestAuthority.generate(validity())
        let site = try await Site.open(authority: authority, poison: Poison(events: settings.events), settings: settings)
        if let sabotage = settings.sabotage { try await site.pair.onPrimary { try await $0.runScript(sabotage) } }
        let start = ContinuousClock.now
        let run = ChaosRun(settings, site: site, authority: authority)
        let result = await Result {
            try await run.disturb()
            return try await run.report(since: start)
        }
        if let evidence = settings.evidence, (try? result.get().violations.isEmpty) != true {
            // What the run has to say is worth more.
            do { try await site.pair.keepData(at: evidence) } catch { print("chaos: the data could not be kept: \(error)") }
        }
        try await site.close()
        return try result.get()
    }

    /// The lives of the simulator begin in 1998, and its clock may jump.
    private static func validity() -> AuthorityOptions {
        let instant = Timestamp(millisecondsSince1970: 1_300_000_000_000)
        var options = AuthorityOptions(around: instant)
        let decades = AuthorityOptions.Validity.years(80, around: instant)
        (options.rootValidity, options.intermediateValidity, options.leafValidity) = (decades, decades, decades)
        return options
    }

    /// Lets senders, daemons and faults loose; afterwards everything is settled, and the daemons have ended.
    private func disturb() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for slot in site.slots { group.addTask { try await slot.run() } }
            group.addTask {
                try await self.load()
                try await self.settle()
                for slot in site.slots { slot.close() }
            }
            let progress = Progress(site: site, diary: diary, tally: tally, isVerbose: settings.isVerbose)
            group.addTask { try await progress.watch(while: pacer) }
            do {
                for try await _ in group {}
            } catch {
                pacer.end()
                for slot in site.slots { slot.close() }
                throw error
            }
        }
        pacer.end()
    }

    /// Posts until enough was accepted, while the faults happen.
    private func load() async throws {
        let driver = FaultDriver(site: site, tally: tally, clock: clock, seed: settings.seed, pacer: pacer)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for track in driver.tracks { group.addTask(operation: track) }
            for number in 0..<Self.senders {
                group.addTask {
                    try await blocking {
                        var sender = Sender(
                            number,
                            seed: settings.seed,
                            site: site,
                            signer: signer,
                            clock: clock,
                            pacer: pacer,
                            diary: diary,
                            tally: tally
                        )
                        try sender.run()
                    }
                }
            }
            do {
                for try await _ in group {}
            } catch {
                pacer.end()
                throw error
            }
        }
    }

    /// Waits in peace until each event has its outcome: also those whose batch has died, and those from the future; then, with the
    /// antidote, also the poisoned ones. A queue that stands still is noticed by ``Progress``, long before this deadline.
    private func settle() async throws {
        let (books, patience) = (site.pair.books, .seconds(120) + .milliseconds(20) * settings.events)
        let poisoned = "%\(Poison.message)%"
        try await eventually("every event that is not poisoned has its outcome", within: patience) {
            let isWaiting = try await books.value(
                Bool.self,
                """
                SELECT EXISTS (
                    SELECT FROM appstore.inbox_queue AS r
                    WHERE NOT EXISTS (SELECT FROM chaos.attempts AS a WHERE a.event_id = r.event_id AND a.error LIKE \(poisoned)))
                """
            )
            // After a long run it looks through many dead rows, which is not to slow down those that it waits for.
            if isWaiting { try await pause(.milliseconds(200)) }
            return !isWaiting
        }
        try await books.execute(Poison.antidote)
        try await eventually("every event has its outcome", within: patience) {
            // Whatever a worker has in its hands at this moment may have to wait for its next attempt first.
            _ = try await books.rows(
                "SELECT appstore.requeue_event(event_id, 'antidote') FROM appstore.inbox_queue WHERE run_at > clock_timestamp()"
            )
            return try await books.value(Int.self, "SELECT count(*) FROM appstore.inbox_queue") == 0
        }
        pacer.end()
    }

    private func report(since start: ContinuousClock.Instant) async throws -> ChaosReport {
        let end = ContinuousClock.now
        let (records, state) = (diary.records, try await FinalState.read(url: site.pair.primaryURL))
        let expectation = try await Expectation.reference(seed: settings.seed, records: records, stored: state.events)
        let histories = site.slots.map { ($0.command, $0.history) }
        let costs = ChaosReport.Costs(daemons: site.slots.map { ($0.command, $0.computing) })
        let judge = Judge(records: records, state: state, expectation: expectation, poison: site.poison)
        return ChaosReport(
            settings: settings,
            duration: end - start,
            judging: .now - end,
            costs: costs,
            sums: diary.sums,
            faults: tally.counts,
            missingFaults: tally.missing,
            results: Dictionary(state.outcomes.map { ($0.result, 1) }, uniquingKeysWith: +),
            starts: Dictionary(histories.map { ($0.0, $0.1.starts) }, uniquingKeysWith: +),
            bookLines: state.books.count,
            effects: state.effects.count,
            attempts: Dictionary(state.attempts.map { ($0.cause, 1) }, uniquingKeysWith: +),
            violations: judge.violations(),
            complaints: histories.flatMap(\.1.complaints)
        )
    }
}
