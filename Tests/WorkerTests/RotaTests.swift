import Testing

@testable import Worker

struct RotaTests {
    @Test func `one loop polls while the others sleep`() {
        var rota = RotaState<String>()
        let step1 = rota.rest(0)
        #expect(step1)
        let step2 = rota.rest(1)
        #expect(!step2)
        let step3 = rota.rest(2)
        #expect(!step3)
        let step4 = rota.rest(0)
        #expect(step4)
        #expect(rota.onDuty == 0)
    }

    @Test func `a loop that finds a little has one other look on in its place`() {
        var rota = RotaState<String>()
        for loop in 0..<3 { _ = rota.rest(loop) }
        let step5 = rota.sleep(1, "one")
        #expect(step5)
        let step6 = rota.sleep(2, "two")
        #expect(step6)
        let step7 = rota.worked(0, isFull: false)
        #expect(step7 == ["one"])
        #expect(rota.onDuty == nil)
        let step8 = rota.rest(1)
        #expect(step8, "it found nothing and is on duty now")
        let step9 = rota.worked(0, isFull: false)
        #expect(step9 == [], "somebody polls already")
    }

    @Test func `more than one can do wakes all`() {
        var rota = RotaState<String>()
        for loop in 0..<3 { _ = rota.rest(loop) }
        let step10 = rota.sleep(1, "one")
        #expect(step10)
        let step11 = rota.sleep(2, "two")
        #expect(step11)
        let step12 = rota.worked(0, isFull: true)
        #expect(Set(step12) == ["one", "two"])
    }

    @Test func `a call that comes before the sleep is not lost`() {
        var rota = RotaState<String>()
        for loop in 0..<2 { _ = rota.rest(loop) }
        let step13 = rota.worked(0, isFull: true)
        #expect(step13 == [])
        let step14 = rota.sleep(1, "one")
        #expect(!step14)
    }

    @Test func `who is called while he is asleep wakes before his time, and a cancelled one too`() async {
        let rota = Rota()
        #expect(rota.isOnDuty(0))
        #expect(!rota.isOnDuty(1))
        await withTaskGroup { group in
            group.addTask { await rota.sleep(1, atMost: .seconds(3600)) }
            rota.worked(0, isFull: true)
            await group.waitForAll()
            _ = rota.isOnDuty(0)
            _ = rota.isOnDuty(1)
            group.addTask { await rota.sleep(1, atMost: .seconds(3600)) }
            group.cancelAll()
        }
    }
}
