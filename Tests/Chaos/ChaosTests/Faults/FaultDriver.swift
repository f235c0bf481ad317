import Foundation
import Glibc
import PostgresTesting

/// Injects faults of five kinds concurrently, each by its own schedule, until the load is over.
struct FaultDriver {
    let installation: ChaosInstallation
    let tally: FaultTally
    let clock: StoreClock
    let seed: UInt64
    let pacer: Pacer

    /// One operation for each kind; they run concurrently.
    var tracks: [@Sendable () async throws -> Void] {
        [killDaemons, disturbDaemons, disturbServers, disturbConnections, disturbClock]
    }

    @Sendable private func killDaemons() async throws {
        try await disturbDaemons(FaultSchedule(Fault.ofKills, seed: seed &+ 1), every: .seconds(1))
    }

    @Sendable private func disturbDaemons() async throws {
        try await disturbDaemons(FaultSchedule(Fault.ofDaemons, seed: seed &+ 5), every: .seconds(2))
    }

    private func disturbDaemons(_ schedule: FaultSchedule, every pace: Duration) async throws {
        var schedule = schedule
        while !pacer.isOver, let fault = schedule.next() {
            try await pause(schedule.about(pace))
            let supervisors = fault.isOfIngest ? installation.ingests : installation.workers
            let supervisor = supervisors[schedule.number(0...(supervisors.count - 1))]
            let happened =
                switch fault {
                case .workerKilled, .ingestKilled: supervisor.end(with: SIGKILL)
                case .workerRestarted, .ingestRestarted: supervisor.end(with: SIGTERM)
                default: try await supervisor.freeze(for: schedule.about(.seconds(1)))
                }
            if happened { tally.count(fault) }
        }
    }

    @Sendable private func disturbServers() async throws {
        var schedule = FaultSchedule(Fault.ofServers, seed: seed &+ 2)
        while !pacer.isOver, let fault = schedule.next() {
            try await pause(schedule.about(.seconds(5)))
            try await disturbServers(fault)
        }
    }

    private func disturbServers(_ fault: Fault) async throws {
        switch fault {
        case .serverRestarted:
            try await installation.pair.restart()
            tally.count(fault)
        case .serverKilled:
            try await installation.pair.crash()
            tally.count(fault)
        case .sessionsTerminated:
            tally.count(fault, times: try await installation.pair.terminateSessions())
        case .slotsTaken:
            tally.count(fault, times: try await installation.pair.takeAllSlots(for: .seconds(2)))
        case .standbyAway:
            tally.count(fault, times: try await installation.pair.withoutStandby { try await installation.pair.cancelWaitingCommits() })
        default:
            try await installation.pair.failOver { _ = try await installation.pair.cancelWaitingCommits() }
            tally.count(fault)
        }
    }

    @Sendable private func disturbConnections() async throws {
        var schedule = FaultSchedule(Fault.ofConnections, seed: seed &+ 3)
        while !pacer.isOver, let fault = schedule.next() {
            try await pause(schedule.about(.seconds(1)))
            if let (user, commitFault) = fault.commitFault(&schedule) {
                installation.scheduledFaults.schedule(commitFault, for: user) { [tally] in tally.count(fault) }
                continue
            }
            let duration = schedule.about(.milliseconds(1500))
            for proxy in installation.proxies {
                switch fault {
                case .connectionsCut: tally.count(fault, times: proxy.cutAll())
                case .connectionsSilenced: tally.count(fault, times: proxy.silenceSome(for: duration))
                default:
                    proxy.setUnresponsive(true)
                    proxy.cutAll()
                }
            }
            guard fault == .connectionsUnanswered else { continue }
            try await pause(duration)
            for proxy in installation.proxies {
                tally.count(fault, times: proxy.unansweredCount)
                proxy.setUnresponsive(false)
            }
        }
        installation.scheduledFaults.clear()
    }

    @Sendable private func disturbClock() async throws {
        var schedule = FaultSchedule(Fault.ofClocks, seed: seed &+ 4)
        while !pacer.isOver, let fault = schedule.next() {
            try await pause(schedule.about(.seconds(4)))
            switch fault {
            // A few seconds beyond the tolerated five minutes.
            case .clockAhead: clock.jump(by: .seconds(300) + schedule.about(.seconds(10)))
            default: clock.jump(by: .seconds(-86_400 * schedule.number(1...9000)))
            }
            try await pause(schedule.about(.seconds(1)))
            // Once for each notification with a wrong date.
            tally.count(fault, times: clock.jump(by: .zero))
        }
    }
}

extension Fault {
    fileprivate var isOfIngest: Bool { [.ingestKilled, .ingestRestarted, .ingestStopped].contains(self) }

    /// The role whose next commit meets the fault, and what the proxy does then; nil for faults that are not tied to a commit.
    fileprivate func commitFault(_ schedule: inout FaultSchedule) -> (user: String, CommitFault)? {
        let (ingest, worker) = (ChaosInstallation.ingestRole, ChaosInstallation.workerRole)
        switch self {
        case .commitNotDelivered: return (worker, .cutBeforeDelivery)
        case .commitUnanswered: return (worker, .cutAfterDelivery)
        case .commitSilenced: return (worker, .silence(isDelivered: schedule.number(0...1) == 0, schedule.about(.seconds(2))))
        case .receiptNotDelivered: return (ingest, .cutBeforeDelivery)
        case .receiptUnanswered: return (ingest, .cutAfterDelivery)
        case .receiptHalfAnswered: return (ingest, .cutInAnswer)
        case .receiptSilenced: return (ingest, .silence(isDelivered: false, schedule.about(.seconds(2))))
        // One in four lasts longer than ingest waits for a commit.
        case .receiptDoneAndSilenced:
            return (ingest, .silence(isDelivered: true, schedule.number(0...3) == 0 ? .seconds(12) : schedule.about(.seconds(2))))
        case .answersDelayed:
            return (schedule.number(0...1) == 0 ? ingest : worker, .delay(schedule.about(.milliseconds(300))))
        default: return nil
        }
    }
}
