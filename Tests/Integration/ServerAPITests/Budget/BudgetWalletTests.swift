import Testing

@testable import ServerAPI

/// How many requests are taken at once, and how long they last.
struct BudgetWalletTests {
    private let start = ContinuousClock.now

    @Test func `the first request takes one, and busy seconds twice as many each time, up to fifty`() {
        var wallet = BudgetWallet()
        var sizes: [Int] = []
        for _ in 0..<8 {
            #expect(!wallet.spend(at: start))
            sizes.append(wallet.wanted(at: start))
            wallet.fill(sizes[sizes.count - 1], at: start)
            for _ in 1..<sizes[sizes.count - 1] { #expect(wallet.spend(at: start)) }
        }
        #expect(sizes == [1, 2, 4, 8, 16, 32, 50, 50])
    }

    @Test func `what is left after a second is lost, and the next takes one`() {
        var wallet = BudgetWallet()
        wallet.fill(10, at: start)
        #expect(wallet.spend(at: start + .milliseconds(999)))
        #expect(!wallet.spend(at: start + .seconds(1)) && wallet.wanted(at: start + .seconds(1)) == 1)
        wallet.fill(1, at: start + .seconds(1))
        #expect(!wallet.spend(at: start + .seconds(1)))
    }

    @Test func `a block empties it`() {
        var wallet = BudgetWallet()
        wallet.fill(10, at: start)
        wallet.empty()
        #expect(!wallet.spend(at: start))
    }
}
