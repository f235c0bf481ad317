import Randomness
import RandomJSON
import Testing

/// The rules of the fuzz targets hold for random changes of genuine input. `deploy/prove fuzz` looks for such input guided by coverage.
struct FuzzingTests {
    @Test(arguments: FuzzTarget.allCases)
    func `no altered input breaks a rule`(target: FuzzTarget) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        for genuine in try target.seeds() {
            try target.check(genuine)
            for _ in 0..<500 {
                await Task.yield()
                let input = generator.mutate(genuine)
                #expect(throws: Never.self, "seed \(seed), input \(input)") { try target.check(input) }
            }
        }
    }
}
