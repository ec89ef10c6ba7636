"""codekin explore: a page from a model folder and a file of samples."""

import numpy as np


def test_a_page_is_written_with_and_without_samples(succeed, run, topics, topics_model, tmp_path):
    bare, page = tmp_path / "bare.html", tmp_path / "page.html"
    succeed("explore", topics_model, "-o", bare, "--quiet")
    shown = succeed("explore", topics_model, "-o", page, "--data", topics / "test.svm", "--title=Topics")
    assert shown.startswith(f"{page}: ")
    assert "<title>Model model</title>" in bare.read_text(encoding="utf-8")
    assert "<title>Topics</title>" in page.read_text(encoding="utf-8")
    assert page.stat().st_size > bare.stat().st_size
    wrong = run("explore", topics_model, "-o", tmp_path / "page.txt")
    assert wrong.code == 2
    assert "The name of a page must end in .html." in wrong.err
    np.save(tmp_path / "accuracies.npy", np.ones(24))
    wrong = run("explore", topics_model, "-o", tmp_path / "other.html", "--accuracies", tmp_path / "accuracies.npy")
    assert wrong.code == 2
    assert "one for each assignment of at most 10 classes" in wrong.err
    (tmp_path / "empty.svm").write_text("")
    wrong = run("explore", topics_model, "-o", tmp_path / "other.html", "--data", tmp_path / "empty.svm")
    assert wrong.code == 2
    assert not (tmp_path / "other.html").exists()
