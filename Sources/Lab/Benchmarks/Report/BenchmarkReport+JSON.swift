import FoundationEssentials

extension BenchmarkReport: Encodable {
    /// One JSON object, its members in alphabetical order.
    package var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    private enum Key: String, CodingKey {
        case bench, summary, comparisons, processorMicrosecondsPerEvent, details, mix, machine, warnings
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name, forKey: .bench)
        try container.encode(summary, forKey: .summary)
        try container.encode(comparisons, forKey: .comparisons)
        try container.encode(costs, forKey: .processorMicrosecondsPerEvent)
        try container.encode(details, forKey: .details)
        try container.encode(mix, forKey: .mix)
        try container.encode(machine, forKey: .machine)
        try container.encode(warnings, forKey: .warnings)
    }
}

extension BenchmarkReport.Detail: Encodable {
    private enum Key: String, CodingKey { case name, value, unit }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name, forKey: .name)
        try container.encode(value.shortened, forKey: .value)
        try container.encode(unit, forKey: .unit)
    }
}

extension Comparison: Encodable {
    private enum Key: String, CodingKey {
        case label, unit, figure, rounds, yardstick, yardstickFigure, yardstickRounds, ratio, aim, isMet
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(label, forKey: .label)
        try container.encode(unit, forKey: .unit)
        try container.encode(figure.shortened, forKey: .figure)
        try container.encode(rounds.map(\.shortened), forKey: .rounds)
        if let yardstick {
            try container.encode(yardstick.name, forKey: .yardstick)
            try container.encode(Samples(yardstick.rounds).median.shortened, forKey: .yardstickFigure)
            try container.encode(yardstick.rounds.map(\.shortened), forKey: .yardstickRounds)
            try container.encode(ratio?.shortened, forKey: .ratio)
        }
        try container.encodeIfPresent(aim?.text, forKey: .aim)
        try container.encodeIfPresent(isMet, forKey: .isMet)
    }
}

extension ProcessorCost: Encodable {
    private enum Key: String, CodingKey { case part, microseconds, source }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(part, forKey: .part)
        try container.encode(microseconds.shortened, forKey: .microseconds)
        try container.encode(source, forKey: .source)
    }
}

extension Comparison.Aim {
    /// `>= 0.75`, `< 20`.
    var text: String {
        switch self {
        case .ratio(let least): ">= \(least.figureText)"
        case .below(let limit): "< \(limit.figureText)"
        }
    }
}
