import Testing

@Suite struct FaultScheduleTests {
    @Test(arguments: [Fault.ofKills, Fault.ofDaemons, Fault.ofServers, Fault.ofConnections, Fault.ofClocks])
    func `each round has each fault once, in an order that the seed decides`(faults: [Fault]) {
        let rounds = 5
        let first = Array(FaultSchedule(faults, seed: 7).prefix(faults.count * rounds))
        for round in 0..<rounds {
            let part = first[(round * faults.count)..<((round + 1) * faults.count)]
            #expect(part.sorted { $0.rawValue < $1.rawValue } == faults.sorted { $0.rawValue < $1.rawValue })
        }
        #expect(Array(FaultSchedule(faults, seed: 7).prefix(first.count)) == first)
        #expect((0..<20).contains { Array(FaultSchedule(faults, seed: $0).prefix(first.count)) != first })
    }

    @Test func `every fault is in a schedule or counted by the senders`() {
        let tracks = Fault.ofKills + Fault.ofDaemons + Fault.ofServers + Fault.ofConnections + Fault.ofClocks
        #expect(Set(tracks + [.senderAborted, .poisonAccepted]) == Set(Fault.allCases))
    }
}
