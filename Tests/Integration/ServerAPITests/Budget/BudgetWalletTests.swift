import Testing

@testable import ServerAPI

/// How many requests are taken at once, and how long they last.
struct BudgetWalletTests {
    private let start = ContinuousClock.now

    /// How many of `count` requests the wallet has.
    private func spent(_ wallet: inout BudgetWallet, _ count: Int, at now: ContinuousClock.Instant) -> Int {
        (0..<count).reduce(0) { spent, _ in spent + (wallet.spend(at: now) ? 1 : 0) }
    }

    @Test func `the first request takes one, and busy seconds twice as many each time, up to fifty`() {
        var wallet = BudgetWallet()
        var sizes: [Int] = []
        for _ in 0..<8 {
            #expect(spent(&wallet, 1, at: start) == 0)
            let size = wallet.wanted(at: start)
            wallet.fill(size, at: start)
            #expect(spent(&wallet, size, at: start) == size - 1)
            sizes.append(size)
        }
        #expect(sizes == [1, 2, 4, 8, 16, 32, 50, 50])
    }

    @Test func `what is left after a second is lost, and the next takes one`() {
        var wallet = BudgetWallet()
        wallet.fill(10, at: start)
        #expect(spent(&wallet, 1, at: start + .milliseconds(999)) == 1)
        #expect(spent(&wallet, 1, at: start + .seconds(1)) == 0)
        #expect(wallet.wanted(at: start + .seconds(1)) == 1)
        wallet.fill(1, at: start + .seconds(1))
        #expect(spent(&wallet, 1, at: start + .seconds(1)) == 0)
    }

    @Test func `a block empties it`() {
        var wallet = BudgetWallet()
        wallet.fill(10, at: start)
        wallet.empty()
        #expect(spent(&wallet, 1, at: start) == 0)
    }
}
