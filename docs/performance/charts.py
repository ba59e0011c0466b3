#!/usr/bin/env python3
"""Draws memory.svg and time.svg from numbers.csv, beside this file. Needs nothing but Python.

numbers.csv is what `cargo run --release -p sanskube-bench -- chart 1000000 100000` prints.
"""

import csv
import math
from pathlib import Path

HERE = Path(__file__).parent
WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 76, 120, 44, 52
SERIES = [("kube-rs", "#b45309"), ("sanskube", "#1d4ed8")]


def bytes_text(value):
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"


def seconds_text(value):
    return f"{value:g} s" if value >= 1 else f"{value * 1e3:g} ms"


def draw(name, title, column, label):
    rows = list(csv.DictReader((HERE / "numbers.csv").open()))
    lines = {
        who: [(float(row["pods"]), float(row[f"{who} {column}"])) for row in rows if row[f"{who} {column}"]]
        for who, _ in SERIES
    }
    values = [value for line in lines.values() for _, value in line]
    pods = [float(row["pods"]) for row in rows]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    first, last = math.log10(min(pods)), math.log10(max(pods))

    def x(value):
        return LEFT + (math.log10(value) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(value):
        return HEIGHT - BOTTOM - (math.log10(value) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="15">{title}</text>',
    ]
    for exponent in range(low, high + 1):
        at = y(10**exponent)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{label(10**exponent)}</text>')
    for value in pods:
        at = x(value)
        out.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#eee"/>')
        text = f"{int(value):,}".replace(",", " ")
        out.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{text}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">pods of 9 KB of JSON</text>')
    for who, color in SERIES:
        points = [(x(pods), y(value)) for pods, value in lines[who]]
        if not points:
            continue
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        out += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5" fill="{color}"/>' for px, py in points]
        px, py = points[-1]
        value = float(f"{lines[who][-1][1]:.3g}")
        out.append(f'<text x="{px + 8:.1f}" y="{py - 2:.1f}" fill="{color}">{who}</text>')
        out.append(f'<text x="{px + 8:.1f}" y="{py + 13:.1f}" fill="{color}">{label(value)}</text>')
    out.append("</svg>")
    (HERE / name).write_text("\n".join(out) + "\n")


draw("memory.svg", "Memory of a cache of pods", "bytes", bytes_text)
draw("time.svg", "Time to fill a cache of pods from a JSON list, one core", "seconds", seconds_text)
