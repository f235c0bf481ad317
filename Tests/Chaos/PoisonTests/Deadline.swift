import Testing

/// Waiting for something that another process brings about.
enum Deadline {
    private struct Passed: Error, CustomStringConvertible {
        let description: String
    }

    /// Asks again until it is so; two minutes are for a machine with much else to do.
    static func wait(for what: String, _ isSo: () async throws -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(120)
        while try await !isSo() {
            guard ContinuousClock.now < end else { throw Passed(description: "\(what) did not come within two minutes") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
