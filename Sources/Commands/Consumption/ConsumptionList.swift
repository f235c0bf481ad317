import ArgumentParser

/// `appstore-inbox consumption list`: lists the requests that Apple waits for.
struct ConsumptionList: AsyncParsableCommand {
    private static let states = KnownWords(option: "--state", words: ["waiting", "decided", "sending", "refused"])
    private static let environments = KnownWords.environments

    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the requests that Apple waits for, the most urgent first, at most 1,000; with --json one object a line.",
        discussion: """
            waiting: nothing is decided. decided: the answer waits for a worker. sending: a worker has tried at least once. refused: Apple \
            refused the answer, and a correct one can follow. The view appstore.consumption_requests has all requests, with what Apple did.
            """
    )

    @Option(help: "Production or Sandbox (default: both).", completion: .environments) var environment: String?
    @Option(
        name: .customLong("state"),
        help: "Only requests in this state; may be given several times: \(Self.states.words.joined(separator: ", ")).",
        completion: .list(Self.states.words)
    )
    var chosen: [String] = []
    @OptionGroup var options: ConsumptionOptions

    func validate() throws {
        if let environment { try Self.environments.check(environment) }
        for state in chosen { try Self.states.check(state) }
    }

    func run() async throws {
        let requests = try await options.withConnection { connection in
            try await ConsumptionOptions.requests(
                in: environment,
                states: chosen.isEmpty ? Self.states.words : chosen,
                from: connection
            )
        }
        if requests.isEmpty, !options.json { return print("Apple waits for no answer.") }
        options.print(requests)
    }
}
