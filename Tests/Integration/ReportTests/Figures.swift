import Foundation

/// Figures by the words that name them.
typealias Figures = [String: [Double]]

extension [Double] {
    mutating func add(_ other: [Double]) {
        for index in indices { self[index] += other[index] }
    }
}

/// A day in UTC.
struct Day: CustomStringConvertible, Hashable, Sendable {
    let number: Int

    init(containing moment: Moment) { number = moment / 86_400 }
    init(_ number: Int) { self.number = number }

    /// The first instant that does not belong to it.
    var end: Moment { (number + 1) * 86_400 }
    var start: Moment { number * 86_400 }
    var previous: Day { Day(number - 1) }

    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()

    private var date: Date { Date(timeIntervalSince1970: Double(start)) }

    /// A moment so many months later, on the day of the month of another moment, or the last day of a shorter month.
    static func adding(months: Int, to moment: Moment, onDayOf anchor: Moment) -> Moment {
        let month = (0..<months).reduce(Day(containing: moment).month) { month, _ in month.nextMonth }
        let wanted = Day(containing: anchor).number - Day(containing: anchor).month.number
        return min(month.number + wanted, month.nextMonth.number - 1) * 86_400 + moment % 86_400
    }

    var description: String {
        let parts = Self.calendar.dateComponents([.year, .month, .day], from: date)
        return String(format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
    }

    /// The first day of its month.
    var month: Day { Day(number - Self.calendar.component(.day, from: date) + 1) }
    /// The first day of the next month.
    var nextMonth: Day { Day(month.number + (Self.calendar.range(of: .day, in: .month, for: date)?.count ?? 0)) }
}

/// Days from the first one to before the next one.
struct Period: Sendable {
    let first: Day
    let next: Day

    func contains(_ moment: Moment) -> Bool { moment >= first.start && moment < next.start }

    static func months(_ count: Int, from first: Day) -> [Period] {
        var periods: [Period] = []
        var day = first.month
        for _ in 0..<count {
            periods.append(Period(first: day, next: day.nextMonth))
            day = day.nextMonth
        }
        return periods
    }

    static func days(_ count: Int, from first: Day) -> [Period] {
        (0..<count).map { Period(first: Day(first.number + $0), next: Day(first.number + $0 + 1)) }
    }
}

/// What two sides say differently, with at most a cent of difference.
func differences(_ found: Figures, _ expected: Figures) -> [String] {
    Set(found.keys).union(expected.keys).sorted().compactMap { key in
        let pair = (found[key] ?? [], expected[key] ?? [])
        let isEqual = pair.0.count == pair.1.count && zip(pair.0, pair.1).allSatisfy { abs($0 - $1) < 0.011 }
        return isEqual ? nil : "\(key): found \(pair.0), expected \(pair.1)"
    }
}
