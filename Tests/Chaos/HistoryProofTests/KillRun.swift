import EndToEndTesting
import Postgres
import PostgresTesting
import Randomness
import StoreSimulator
import StoreSimulatorServer

/// Three workers that read the history, of which one after the other is killed, each after a random progress of all.
struct KillRun {
    let scene: AppleScene
    var generator: SeededGenerator
    /// How many more may be killed.
    var kills: Int
    private(set) var killed = 0
    private var workers: [Daemon] = []
    private var posts: Task<Void, any Error>?
    private var faults = 0

    init(scene: AppleScene, generator: SeededGenerator, kills: Int) {
        self.scene = scene
        self.generator = generator
        self.kills = kills
    }

    /// Posts half of what was delivered, starts the workers, and lets the rest follow.
    mutating func start(_ delivered: [[UInt8]]) async throws {
        let client = try await scene.installation.startIngest().client
        let shuffled = delivered.shuffled(using: &generator)
        let half = shuffled.count / 2
        for answer in try await client.post(Array(shuffled[..<half])) where answer.status != 200 { throw Failure.refused(answer.status) }
        for _ in 0..<3 { workers.append(try await startWorker()) }
        let rest = Array(shuffled[half...])
        posts = Task {
            for answer in try await client.post(rest) where answer.status != 200 { throw Failure.refused(answer.status) }
        }
    }

    /// Kills workers until all windows are read and all events are settled.
    ///
    /// - Parameter kind: of windows that the next planning makes.
    mutating func untilRead(_ kind: String) async throws {
        try await eventually("windows are made", within: .seconds(60)) {
            try await scene.sql.value(Bool.self, "SELECT EXISTS (SELECT FROM appstore.history_windows WHERE kind = \(kind))")
        }
        while true {
            let target = try await progress() + Int.random(in: 1...15, using: &generator)
            let isOver = try await eventually("the workers get on", within: .seconds(120)) { () -> Bool? in
                if try await scene.isRead() { return true }
                return try await progress() >= target ? false : nil
            }
            if isOver { break }
            if kills > 0 { try await killOne() }
        }
        try await posts?.value
        try await eventually("everything is settled", within: .seconds(120)) { try await scene.isRead() }
        // A retry of the store may have been in flight when it was listed: a later window tells what became of it.
        let isClassed = "SELECT NOT EXISTS (SELECT FROM appstore.history_records WHERE is_open AND class <> 'in_flight')" as Statement
        try await eventually("each record has its class", within: .seconds(60)) { try await scene.sql.value(Bool.self, isClassed) }
    }

    /// Requeues events that failed because workers died three times while they ran one by itself, as an operator would, and waits until they are
    /// settled. Returns how many.
    func requeueSuspected() async throws -> Int {
        let requeued = try await scene.lines("SELECT events::text FROM appstore.requeue('failed', 'killed_worker')")
        let isRepaired = "SELECT NOT EXISTS (SELECT FROM appstore.repairs WHERE state = 'running')" as Statement
        try await eventually("the repair is done", within: .seconds(60)) { try await scene.sql.value(Bool.self, isRepaired) }
        try await eventually("what was requeued is settled", within: .seconds(60)) { try await scene.isRead() }
        return requeued.compactMap(Int.init).reduce(0, +)
    }

    private mutating func killOne() async throws {
        let index = Int.random(in: workers.indices, using: &generator)
        try await workers[index].kill()
        (killed, kills) = (killed + 1, kills - 1)
        // Half of the killed workers had an answer to wait for that is none.
        if Bool.random(using: &generator), let fault = Self.faults.randomElement(using: &generator) {
            scene.store.access { $0.faults.add(fault, to: .notificationHistory) }
            faults += 1
        }
        // Ends the killed worker's leases at once, and those of the others, whose next page then is one of an older lease.
        try await scene.makeDue()
        workers[index] = try await startWorker()
    }

    /// Two pages a second of all workers: they are killed in the middle of their work.
    private func startWorker() async throws -> Daemon { try await scene.startWorker(["APPSTORE_INBOX_API_BUDGET": "4"]) }

    private static let faults: [ServerAPIFault] = [
        .error(5_000_000), .error(4_000_017), .page(status: 503), .reset, .manner(.cut(after: 200)), .manner(.thenClosed), .emptyPage,
        .withoutToken, .repeatedToken, .unknownMembers,
    ]

    private func progress() async throws -> Int {
        try await scene.store.access { $0.calls.count } + scene.sql.value(Int.self, "SELECT count(*) FROM appstore.outcomes")
    }

    func summary(of fates: RandomFates) -> String {
        """
        \(fates.listed.count) listed, \(fates.delivered.count) of them delivered, \(fates.late.count) listed late, \(fates.unlisted) neither; \
        \(scene.store.access { $0.calls.count }) calls, \(killed) workers killed, \(faults) faults
        """
    }

    enum Failure: Error {
        case refused(Int)
    }
}
