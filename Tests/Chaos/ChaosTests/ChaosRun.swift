import AppStore
import EndToEndTesting
import Postgres
import PostgresTesting
import StoreSimulator

/// One run: senders post while faults are injected; afterwards the judge checks the final state.
struct ChaosRun {
    let settings: ChaosSettings
    let installation: ChaosInstallation
    let postLog = PostLog()
    let tally = FaultTally()
    private let clock = StoreClock()
    private let pacer: Pacer
    private let signer: NotificationSigner

    private static let senders = 32

    private init(_ settings: ChaosSettings, installation: ChaosInstallation, authority: TestAuthority) {
        (self.settings, self.installation) = (settings, installation)
        pacer = Pacer(events: settings.events, duration: settings.duration, postLog: postLog, tally: tally)
        signer = NotificationSigner(authority: authority)
    }

    /// Runs from the empty database to the verdict.
    static func report(_ settings: ChaosSettings) async throws -> ChaosReport {
        let authority = try TestAuthority.generate(validity())
        let installation = try await ChaosInstallation.open(
            authority: authority,
            poison: Poison(events: settings.events),
            settings: settings
        )
        if let sabotage = settings.sabotage { try await installation.pair.onPrimary { try await $0.runScript(sabotage) } }
        let start = ContinuousClock.now
        let run = ChaosRun(settings, installation: installation, authority: authority)
        let result = await Result {
            try await run.disturb()
            return try await run.report(since: start)
        }
        if let evidence = settings.evidence, (try? result.get().violations.isEmpty) != true {
            // The result of the run matters more than this error.
            do { try await installation.pair.keepData(at: evidence) } catch { print("chaos: the data could not be kept: \(error)") }
        }
        try await installation.close()
        return try result.get()
    }

    /// Covers the simulator's histories, which begin in 1998, and the jumps of its clock.
    private static func validity() -> AuthorityOptions {
        let instant = Timestamp(millisecondsSince1970: 1_300_000_000_000)
        var options = AuthorityOptions(around: instant)
        let decades = AuthorityOptions.Validity.years(80, around: instant)
        (options.rootValidity, options.intermediateValidity, options.leafValidity) = (decades, decades, decades)
        return options
    }

    /// Runs senders, daemons and faults. On return every event is settled and the daemons have ended.
    private func disturb() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for supervisor in installation.supervisors { group.addTask { try await supervisor.run() } }
            group.addTask {
                try await self.load()
                try await self.settle()
                for supervisor in installation.supervisors { supervisor.close() }
            }
            let progress = Progress(installation: installation, postLog: postLog, tally: tally, isVerbose: settings.isVerbose)
            group.addTask { try await progress.watch(while: pacer) }
            do {
                for try await _ in group {}
            } catch {
                pacer.end()
                for supervisor in installation.supervisors { supervisor.close() }
                throw error
            }
        }
        pacer.end()
    }

    /// Posts until enough is accepted, while the faults are injected.
    private func load() async throws {
        let driver = FaultDriver(installation: installation, tally: tally, clock: clock, seed: settings.seed, pacer: pacer)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for track in driver.tracks { group.addTask(operation: track) }
            for number in 0..<Self.senders {
                group.addTask {
                    try await blocking {
                        var sender = Sender(
                            number,
                            seed: settings.seed,
                            installation: installation,
                            signer: signer,
                            clock: clock,
                            pacer: pacer,
                            postLog: postLog,
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

    /// Waits without faults until each event has its outcome: first all but the poison events, then, with the poison removed, these too.
    /// ``Progress`` notices a stalled queue long before this deadline.
    private func settle() async throws {
        let (sql, timeout) = (installation.pair.sql, .seconds(120) + .milliseconds(20) * settings.events)
        let poisoned = "%\(Poison.message)%"
        try await eventually("every event that is not poisoned has its outcome", within: timeout) {
            let isWaiting = try await sql.value(
                Bool.self,
                """
                SELECT EXISTS (
                    SELECT FROM appstore.inbox_queue AS r
                    WHERE NOT EXISTS (SELECT FROM chaos.attempts AS a WHERE a.event_id = r.event_id AND a.error LIKE \(poisoned)))
                """
            )
            // After a long run this query reads many dead rows: poll slowly, to leave the workers their time.
            if isWaiting { try await pause(.milliseconds(200)) }
            return !isWaiting
        }
        try await sql.execute(Poison.removal)
        try await eventually("every event has its outcome", within: timeout) {
            // An event in flight at this moment may still fail once and wait for its next attempt.
            _ = try await sql.rows(
                "SELECT appstore.requeue_event(event_id, 'poison removed') FROM appstore.inbox_queue WHERE run_at > clock_timestamp()"
            )
            return try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox_queue") == 0
        }
        pacer.end()
    }

    private func report(since start: ContinuousClock.Instant) async throws -> ChaosReport {
        let end = ContinuousClock.now
        let (records, state) = (postLog.records, try await FinalState.read(url: installation.pair.primaryURL))
        let expectation = try await Expectation.reference(seed: settings.seed, records: records, stored: state.events)
        let histories = installation.supervisors.map { ($0.command, $0.history) }
        let judge = Judge(records: records, state: state, expectation: expectation, poison: installation.poison)
        return ChaosReport(
            settings: settings,
            duration: end - start,
            judging: .now - end,
            sums: postLog.sums,
            faults: tally.counts,
            missingFaults: tally.missing,
            results: Dictionary(state.outcomes.map { ($0.result, 1) }, uniquingKeysWith: +),
            starts: Dictionary(histories.map { ($0.0, $0.1.starts) }, uniquingKeysWith: +),
            ledgerLines: state.ledger.count,
            effects: state.effects.count,
            attempts: Dictionary(state.attempts.map { ($0.cause, 1) }, uniquingKeysWith: +),
            violations: judge.violations(),
            daemonFailures: histories.flatMap(\.1.daemonFailures)
        )
    }
}
