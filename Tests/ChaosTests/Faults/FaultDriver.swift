import EndToEndTesting
import Foundation
import Glibc
import Randomness

/// Disturbs a site in five ways at once, each by a schedule of its own, until the load is over.
struct FaultDriver {
    let site: Site
    let tally: FaultTally
    let clock: StoreClock
    let seed: UInt64
    let pacer: Pacer

    /// Each of the five ways, to be run at the same time.
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
            let slots = fault.isOfIngest ? site.ingests : site.workers
            let slot = slots[schedule.number(0...(slots.count - 1))]
            let happened =
                switch fault {
                case .workerKilled, .ingestKilled: slot.end(with: SIGKILL)
                case .workerRestarted, .ingestRestarted: slot.end(with: SIGTERM)
                default: try await slot.freeze(for: schedule.about(.seconds(1)))
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
            try await site.pair.restart()
            tally.count(fault)
        case .serverKilled:
            try await site.pair.crash()
            tally.count(fault)
        case .sessionsTerminated:
            tally.count(fault, times: try await site.pair.terminateSessions())
        case .slotsTaken:
            tally.count(fault, times: try await site.pair.takeAllSlots(for: .seconds(2)))
        case .standbyAway:
            tally.count(fault, times: try await site.pair.withoutStandby { try await site.pair.cancelWaitingCommits() })
        default:
            try await site.pair.failOver { _ = try await site.pair.cancelWaitingCommits() }
            tally.count(fault)
        }
    }

    @Sendable private func disturbConnections() async throws {
        var schedule = FaultSchedule(Fault.ofConnections, seed: seed &+ 3)
        while !pacer.isOver, let fault = schedule.next() {
            try await pause(schedule.about(.seconds(1)))
            if let (user, strike) = fault.strike(&schedule) {
                site.ambushes.lay(strike, for: user) { [tally] in tally.count(fault) }
                continue
            }
            let duration = schedule.about(.milliseconds(1500))
            for proxy in site.proxies {
                switch fault {
                case .connectionsCut: tally.count(fault, times: proxy.cutAll())
                case .connectionsSilenced: tally.count(fault, times: proxy.silenceSome(for: duration))
                default:
                    proxy.setDeaf(true)
                    proxy.cutAll()
                }
            }
            guard fault == .connectionsStranded else { continue }
            try await pause(duration)
            for proxy in site.proxies {
                tally.count(fault, times: proxy.strandedCount)
                proxy.setDeaf(false)
            }
        }
        site.ambushes.clear()
    }

    @Sendable private func disturbClock() async throws {
        var schedule = FaultSchedule(Fault.ofClocks, seed: seed &+ 4)
        while !pacer.isOver, let fault = schedule.next() {
            try await pause(schedule.about(.seconds(4)))
            switch fault {
            // Beyond the five minutes that are believed, for some seconds.
            case .clockAhead: clock.jump(by: .seconds(300) + schedule.about(.seconds(10)))
            default: clock.jump(by: .seconds(-86_400 * schedule.number(1...9000)))
            }
            try await pause(schedule.about(.seconds(1)))
            // Once for each notification that it has dated wrongly.
            tally.count(fault, times: clock.jump(by: .zero))
        }
    }
}

extension Fault {
    fileprivate var isOfIngest: Bool { [.ingestKilled, .ingestRestarted, .ingestStopped].contains(self) }

    /// What the proxy is to do at a commit, and to whom; nil for faults that wait for none.
    fileprivate func strike(_ schedule: inout FaultSchedule) -> (user: String, Strike)? {
        let (ingest, worker) = (Site.ingestRole, Site.workerRole)
        switch self {
        case .commitNotDelivered: return (worker, .cutBeforeDelivery)
        case .commitUnanswered: return (worker, .cutAfterDelivery)
        case .commitSilenced: return (worker, .silence(isDelivered: schedule.number(0...1) == 0, schedule.about(.seconds(2))))
        case .receiptNotDelivered: return (ingest, .cutBeforeDelivery)
        case .receiptUnanswered: return (ingest, .cutAfterDelivery)
        case .receiptHalfAnswered: return (ingest, .cutInAnswer)
        case .receiptSilenced: return (ingest, .silence(isDelivered: false, schedule.about(.seconds(2))))
        // Now and then for longer than ingest waits for a commit.
        case .receiptDoneAndSilenced:
            return (ingest, .silence(isDelivered: true, schedule.number(0...3) == 0 ? .seconds(12) : schedule.about(.seconds(2))))
        case .answersDelayed:
            return (schedule.number(0...1) == 0 ? ingest : worker, .delay(schedule.about(.milliseconds(300))))
        default: return nil
        }
    }
}
